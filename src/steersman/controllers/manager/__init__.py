"""The process that runs controllers: which ones, as whom, elected by whom, and how they are."""
