"""What is each part of recall worth? Enter by `helix_lab.ablation.command`."""
