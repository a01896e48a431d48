"""Coordinated leader election (KEP-4355): who should hold a Lease, decided from the LeaseCandidates that ask for it.

Promises:

* **Free of state.** ``step.decide`` looks at the Lease, its candidates and the time, and says what to write; nothing is
  remembered between two steps, so any API server may take the next one, and all of them may at the same time: every
  write names the version that it is based on, and who loses starts again.
* **One holder.** The holder is changed only where the Lease has none or has run out; a better candidate is named as
  preferred holder, and the holder lets go by itself.
* **No step is the last one.** Every decision says when to look again, and a step that fails is tried again.
* **Nobody waits for the dead longer than they must.** All candidates are asked at once; a free Lease is given away as
  soon as no answer that is still missing could change the outcome.
"""
