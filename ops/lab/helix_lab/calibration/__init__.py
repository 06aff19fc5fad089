"""How likely is an answer, and when is it better to say nothing? Enter by `helix_lab.calibration.command`."""
