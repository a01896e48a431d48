"""Fork server: a process with all modules imported, which forks a child process for each request.

Promises, which the tests check:

- Children are forked from a process with one thread, no event loop and no open database.
- A client has one connection for each child. The child ends when the connection closes, however the client ended.
- When the process that started the server ends, the server and all children end.
- Directories of children are removed when the children have ended, also after a crash.

Similar: ``multiprocessing.forkserver``, whose children need a pickled target and import the main module again.
"""
