#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads a profile of pprof and refuses what its definition or a strict reader (Parca) does.

Prints "TOTAL SAMPLES WEIGHT", then "SELF NAME" by the second value; with --facts what else a test asks for.
"""
import collections
import gzip
import re
import sys


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data):
    """The fields of a message: number -> list of values."""
    found, at = collections.defaultdict(list), 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        assert key & 7 in (0, 2), f"wire type {key & 7}"
        if key & 7 == 2:
            assert at + value <= len(data), "a field reaches beyond its message"
            value, at = data[at : at + value], at + value
        found[key >> 3].append(value)
    return found


def packed(values):
    numbers = []
    for data in values:
        at = 0
        while at < len(data):
            number, at = varint(data, at)
            numbers.append(number)
    return numbers


def one(message, number):
    values = message.get(number, [0])
    assert len(values) == 1, f"field {number} stands there {len(values)} times"
    return values[0]


class Profile:
    def __init__(self, data):
        top = fields(gzip.decompress(data))
        self.texts = [text.decode() for text in top[6]]
        assert self.texts[0] == "", "the first string is not empty"
        assert len(set(self.texts)) == len(self.texts), "a string stands there twice"
        self.types = [self.type_of(data) for data in top[1]]
        self.default = self.texts[one(top, 14)]
        self.period_type, self.period = self.type_of(one(top, 11)), one(top, 12)
        self.comment = self.texts[one(top, 13)]
        self.time_ns, self.duration_ns = one(top, 9), one(top, 10)
        self.functions = self.numbered(top[5], "function")
        self.mappings = self.numbered(top[3], "mapping")
        self.locations = self.numbered(top[4], "location")
        self.samples = [self.sample(data) for data in top[2]]
        self.names = [self.texts[one(function, 2)] for function in self.functions]
        self.files = [self.texts[one(mapping, 5)] for mapping in self.mappings]
        self.build_ids = [self.texts[one(mapping, 6)] for mapping in self.mappings]
        self.check()

    def type_of(self, data):
        message = fields(data)
        return self.texts[one(message, 1)], self.texts[one(message, 2)]

    def numbered(self, messages, what):
        """Ids count from 1."""
        read = [fields(data) for data in messages]
        for i, message in enumerate(read):
            assert one(message, 1) == i + 1, f"{what} {i + 1} has the id {one(message, 1)}"
        return read

    def sample(self, data):
        message, labels = fields(data), {}
        for label in message[3]:
            label = fields(label)
            key = self.texts[one(label, 1)]
            assert key and key not in labels, f"label '{key}' twice, or without a key"
            labels[key] = self.texts[one(label, 2)] or one(label, 3)
        return packed(message[1]), packed(message[2]), labels

    def check(self):
        for location in self.locations:
            assert one(location, 2) <= len(self.mappings), "a mapping that is not there"
            assert one(location, 2) or not one(location, 3), "an address in no mapping"
            for line in location[4]:
                assert 0 < one(fields(line), 1) <= len(self.functions), "no such function"
        for mapping, build_id in zip(self.mappings, self.build_ids):
            assert re.fullmatch("([0-9a-f]{2})*", build_id), f"build-id {build_id}"
            assert one(mapping, 7) == 1, "a mapping does not say that it has functions"
        for places, values, _ in self.samples:
            assert len(values) == len(self.types), "not a value for each type"
            assert all(0 < place <= len(self.locations) for place in places), "no such location"

    def self_weights(self):
        weights = collections.Counter()
        for places, values, _ in self.samples:
            if places:
                line = fields(self.locations[places[0] - 1][4][0])
                weights[self.names[one(line, 1) - 1]] += values[1]
        return weights


def main():
    profile = Profile(open(sys.argv[-1], "rb").read())
    counts = [sum(values[i] for _, values, _ in profile.samples) for i in range(len(profile.types))]
    if "--facts" in sys.argv:
        print("types", *["/".join(kind) for kind in profile.types], "default", profile.default)
        print("period", "/".join(profile.period_type), profile.period)
        print("seconds", profile.duration_ns // 10**9)
        print("comment", profile.comment)
        for name, build_id in zip(profile.files, profile.build_ids):
            print("mapping", name, build_id or "-")
        for labels in sorted({tuple(sorted(labels.items())) for _, _, labels in profile.samples}, key=str):
            print("labels", *[f"{key}={value}" for key, value in labels])
        return
    print("TOTAL", *counts)
    for name, weight in sorted(profile.self_weights().items()):
        print(weight, name)


if __name__ == "__main__":
    main()
