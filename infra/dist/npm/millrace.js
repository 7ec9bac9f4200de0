#!/usr/bin/env node
// Starts the program of this platform, which one of the optional dependencies holds. Nothing is downloaded.
'use strict'

const { spawn } = require('node:child_process')
const { existsSync } = require('node:fs')
const path = require('node:path')

const PLATFORMS = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64']
const FORWARDED = ['SIGINT', 'SIGTERM', 'SIGHUP']

function refuse(sentence) {
  process.stderr.write(`millrace: ${sentence}\n`)
  process.exit(1)
}

// Alpine and others have musl in its place.
function hasGlibc() {
  return process.platform !== 'linux' || Boolean(process.report.getReport().header.glibcVersionRuntime)
}

const MUSL = 'This system has musl, and the program needs glibc 2.28 or newer: use a distribution with glibc, or a container image of one.'

function program() {
  const platform = `${process.platform}-${process.arch}`
  if (process.platform === 'win32') refuse('There is no program for Windows: run Millrace in WSL or in a container.')
  if (!PLATFORMS.includes(platform)) refuse(`There is no program for ${platform}: Millrace runs on ${PLATFORMS.join(', ')}.`)
  try {
    return path.join(path.dirname(require.resolve(`@millrace/${platform}/package.json`)), 'millrace')
  } catch {
    if (!hasGlibc()) refuse(MUSL)
    return refuse(
      `The package @millrace/${platform} is not installed. It is an optional dependency: install millrace again without --no-optional or ` +
        '--omit=optional, and on this platform, because node_modules of another one has another program.',
    )
  }
}

// Where Node can become the program, nothing is left that could die before it or keep a signal from it.
function become(file, given) {
  // It warns that it is experimental.
  process.removeAllListeners('warning')
  process.execve(file, [file, ...given], process.env)
}

function start(file, given) {
  // The program ends when this process is killed, also by SIGKILL, where the kernel can be asked for it.
  const setpriv = ['/usr/bin/setpriv', '/bin/setpriv'].find((place) => process.platform === 'linux' && existsSync(place))
  const child = setpriv
    ? spawn(setpriv, ['--pdeathsig', 'TERM', '--', file, ...given], { stdio: 'inherit' })
    : spawn(file, given, { stdio: 'inherit' })
  // A terminal sends its signals to both processes; the program takes a second one like the first.
  for (const signal of FORWARDED) process.on(signal, () => child.kill(signal))
  child.on('error', (error) => refuse(`${file} does not start: ${error.message}`))
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code)
    // End as it ended.
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
}

const file = program()
// By npx, the program is not on the path, so its messages name what is.
if (process.env.npm_command === 'exec' && !process.env.MILLRACE_COMMAND) process.env.MILLRACE_COMMAND = 'npx millrace'
// The kernel says of a program without its loader that it does not exist.
if (!existsSync(file)) refuse(`${file} is missing: install millrace again.`)
if (!hasGlibc()) refuse(MUSL)
if (process.execve) become(file, process.argv.slice(2))
else start(file, process.argv.slice(2))
