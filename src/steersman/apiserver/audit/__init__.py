"""The audit log: what is recorded of which request, as upstream writes it (``audit.k8s.io/v1``).

Promises, which the tests check:

- ``policy`` decides by the first rule that fits; a file that is not exactly a policy is refused, with the reason.
- ``event`` says what the policy's level allows and no more; no header but the user agent and addresses is ever in it.
- ``log`` keeps a bounded queue. In the blocking modes who has something to record waits until it is written; in batch
  mode events that find the queue full are dropped and counted. What was taken is written before ``close`` returns.
- ``files`` never writes over anything: a full file is put aside under a name with the time, old ones go by age and number.
"""
