dist_man_MANS += docs/stacktop.1
# What the manual refers to is installed beside it.
dist_doc_DATA = README docs/EXPORT docs/FORMATS docs/JSON docs/SECURITY
EXTRA_DIST += docs/ARCHITECTURE docs/CONFORMANCE docs/GLOSSARY docs/HACKING
