"""CronJob: creates a Job at each time of a schedule.

Promises: at most one Job per scheduled time, as the Job's name contains it; only the latest missed start is caught up; the
controller runs at scheduled times and after changes.
"""
