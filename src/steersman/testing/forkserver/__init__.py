"""Fork server: one process that has imported everything, and forks a child process for each request.

Promises, which the tests check:

- Children are forked from a process with one thread, no event loop and no open database.
- A client has one connection for each child. The child ends when the connection closes, whatever ended the client.
- When the process that started the server ends, the server and all children end.
- Directories of children are removed when the children have ended, also after a crash.

Similar: ``multiprocessing.forkserver``, whose children need a pickled target and import the main module again.
"""
