"""CronJob: creates a Job at each time of a schedule.

Promises: at most one Job per scheduled time, as the Job's name contains it; of missed start times only the latest is
made up for; the controller wakes at the next scheduled time, and otherwise only for changes.
"""
