"""The explorer: pages for people, below /explorer. Reading works without JavaScript; no page has an inline script.

`routes` lists the pages, `pages` has one module for each: what it asks the client, and what its template shows.
`signing_in` keeps token and scope in cookies and guards forms; `rendering` makes the responses with their headers;
`shown` makes texts of others safe to look at. `static/vendor` has what others wrote, with its licences.
"""
