"""Which constants serve best, and does the search really bring it? Enter by `helix_lab.tuning.command`."""
