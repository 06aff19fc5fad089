"""One module for each page: it asks the client, and returns what its template shows."""
