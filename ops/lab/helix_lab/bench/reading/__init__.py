"""What readers wait for: recalls and their floor, lists, profiles, peers, and memory of the query service.

Start with `recall_load`; `turns` times calls beside each other.
"""
