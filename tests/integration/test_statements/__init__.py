"""What people and documents state: restated, related, replaced. The files of this folder share a stack."""
