dist_man_MANS += docs/stacktop.1
EXTRA_DIST += docs/ARCHITECTURE docs/HACKING docs/JSON
