"""A second implementation of neffcache's keys, for tests: docs/formats/keys.md, in Python, without a look at graph/.

It is written for clarity and reads graphs whole. Where it and the programs disagree, one of them or the page has a bug.
Comments cite the page as "keys.md" and the facts it rests on (the table of XLA's fields) by section, as "hlo_keys.md 1.3".
"""
