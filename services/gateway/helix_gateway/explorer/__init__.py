"""The explorer: pages for people, below /explorer. Reading works without JavaScript.

`routes` lists the pages; `pages` has a module for each, which asks the client for what the template shows.
`signing_in` keeps token and scope in cookies and guards forms. `rendering` makes the responses with headers
that let no other code run. `shown` makes texts of others safe to look at. `static/vendor` has what others
wrote, with its licences.
"""
