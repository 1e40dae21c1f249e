dist_man_MANS += docs/stacktop.1
EXTRA_DIST += docs/ARCHITECTURE docs/CONFORMANCE docs/FORMATS docs/HACKING docs/JSON
