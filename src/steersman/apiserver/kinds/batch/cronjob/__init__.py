"""Strategy and validation of CronJobs."""
