// SPDX-License-Identifier: GPL-3.0-or-later
// What speedscope makes of a file: "node read_speedscope.js FOLDER FILE", FOLDER that of its npm package. It is one bundle
// for a browser, so its importer is led out of it before it draws. Prints how many profiles, the sum of their weights
// and whatever it warned of; status 1: it could not read the file.
'use strict'
const fs = require('fs')
const path = require('path')
const util = require('util')
const vm = require('vm')

const [folder, file] = process.argv.slice(2)
const release = path.join(folder, 'dist/release')
const bundle = fs.readdirSync(release).find(name => /^speedscope-.*\.js$/.test(name))
let code = fs.readFileSync(path.join(release, bundle), 'utf8')
const names = /([\w$]+)=\{\};[\w$]+\(\1,\{importFromFileSystemDirectoryEntry/.exec(code)
const load = names && new RegExp(`var [\\w$]+=Promise\\.resolve\\(\\)\\.then\\(\\(\\)=>\\(([\\w$]+)\\(\\),${names[1].replace(/\$/g, "\\$")}\\)\\)`).exec(code)
if (!load) {
	console.log('unknown bundle')
	process.exit(77)
}
code = code.replace(load[0], `globalThis.importer=(${load[1]}(),${names[1]});${load[0]}`)

const warnings = []
const warn = (...words) => warnings.push(util.format(...words))
const anything = () => new Proxy(function () {}, {
	get: (target, key) => (key === Symbol.toPrimitive ? () => '' : anything()),
	apply: () => anything(),
	construct: () => anything(),
	set: () => true,
})
const quiet = { log() {}, info() {}, assert() {}, time() {}, timeEnd() {}, warn, error: warn }
const context = { console: quiet, TextDecoder, TextEncoder, setTimeout, clearTimeout, atob, performance, Promise, URL }
context.globalThis = context.self = context.window = context
context.document = context.navigator = context.location = context.localStorage = anything()
vm.createContext(context)
try {
	vm.runInContext(code, context)
} catch (error) {
	if (!context.importer) throw error // else it only failed to draw
}
warnings.length = 0
const bytes = fs.readFileSync(file)
const data = new Uint8Array(bytes).buffer
context.importer.importProfilesFromArrayBuffer(path.basename(file), data).then(group => {
	if (!group) throw new Error('nothing is read')
	let weight = 0
	for (const profile of group.profiles) weight += profile.getTotalNonIdleWeight()
	console.log(`profiles ${group.profiles.length}`)
	console.log(`weight ${weight}`)
	for (const text of warnings) console.log(`warning ${text}`)
}).catch(error => {
	console.log(`error ${error.message}`)
	process.exit(1)
})
