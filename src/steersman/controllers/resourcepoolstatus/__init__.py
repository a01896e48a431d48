"""Who asks how many devices a driver's pools have is told once (``resourcepoolstatusrequest-controller``). KEP-5677."""
