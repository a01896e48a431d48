"""CronJob: starts a Job at each time of a schedule.

Promises: one scheduled time leads to one Job at most, since the Job's name tells the time; of starts that were missed
only the latest is made up for; the controller wakes at the next time by the clock, and otherwise only when something
changed.
"""
