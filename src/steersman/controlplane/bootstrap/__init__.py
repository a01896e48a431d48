"""What an API server does so that there is a cluster (upstream's bootstrap controllers), each part a client of the API.

Promises:

* **Plans are pure.** What a pass finds wrong, and what is to be written, is a function of what was read and of the time;
  the loops around them read, plan and write.
* **Nothing is believed twice.** A repair that a cache suggests is checked against the server before anything is removed.
* **Nothing here polls.** A pass is begun by a watch, by a timer at the moment when something falls due, or by the slow
  pass (a minute and more) that is there in case a watch missed something.
* **Nothing here reads the storage** but the endpoint leases, through ``master_leases``.
"""
