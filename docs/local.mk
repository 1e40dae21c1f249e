dist_man_MANS += docs/stacktop.1
EXTRA_DIST += docs/ARCHITECTURE docs/FORMATS docs/HACKING docs/JSON
