# Tests that do not belong to one layer. Each layer's own unit tests stand in its fragment.
SCRIPT_TESTS += tests/test_layers.sh
