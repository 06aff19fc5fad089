"""Who may write: the lease and the folder lock, and standing by for them."""
