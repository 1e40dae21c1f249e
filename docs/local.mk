dist_man_MANS += docs/stacktop.1
EXTRA_DIST += docs/HACKING docs/JSON
