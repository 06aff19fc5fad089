"""Which constants serve best, and does the search really gain anything?

Start with `command`. `space` lists the constants, `splits` and `nested` keep held-out questions away from
`search`.
"""
