"""Which process may write: the lease, the folder lock, and waiting for both."""
