"""The report of the lab: one JSON of figures as tables, charts and a page. Enter by `write.write_report`."""
