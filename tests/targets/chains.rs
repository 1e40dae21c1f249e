// SPDX-License-Identifier: GPL-3.0-or-later
// Known stacks of a Rust program; the names of scenarios are those of chains.c: "chains calls", "chains callback",
// "chains thread"; "chains endless" is this one's own.
use std::arch::asm;

#[inline(never)]
fn spin() {
    unsafe { asm!("2: sub {0}, 1", "jnz 2b", inout(reg) 100_000u64 => _) };
}

/// What the compiler cannot see through.
#[inline(always)]
fn opaque(mut n: u64) -> u64 {
    unsafe { asm!("/* {0} */", inout(reg) n) };
    n
}

#[inline(never)]
fn calls_c(n: u64) -> u64 {
    spin();
    opaque(n) + 1
}

#[inline(never)]
fn calls_b(n: u64) -> u64 {
    let room = [calls_c(n); 40];
    unsafe { asm!("/* {0} */", in(reg) &room) };
    room[3] + 1
}

#[inline(never)]
fn calls(n: u64) -> u64 {
    calls_b(n) + opaque(1)
}

/// The compiled library's sort calls back.
#[inline(never)]
fn callback() {
    let mut items: Vec<Box<dyn Fn() -> u64>> = (0..9u64).map(|i| -> Box<dyn Fn() -> u64> { Box::new(move || calls(i)) }).collect();
    items.sort_by(|a, b| b().cmp(&a()));
    opaque(items.len() as u64);
}

fn main() {
    let scenario = std::env::args().nth(1).unwrap_or_default();
    match scenario.as_str() {
        "calls" => loop {
            calls(1);
        },
        "callback" => loop {
            callback();
        },
        "thread" => std::thread::spawn(|| {
            while opaque(1) != 0 {
                calls(1);
            }
        })
        .join()
        .unwrap(),
        // Of its first function no way leads back.
        "endless" => std::thread::spawn(|| loop {
            calls(1);
        })
        .join()
        .unwrap(),
        _ => panic!("no scenario"),
    }
}
