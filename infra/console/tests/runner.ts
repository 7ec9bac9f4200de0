/** Starts runners of the whole service, on a port and over a data directory of their own. */

import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Folder of `millrace` and `ops`. */
export const programs = required('MILLRACE_PROGRAMS');
/** Folder of the built console. */
const consoleFolder = required('MILLRACE_CONSOLE_DIR');

/** Time that a start may take, in milliseconds: a debug build on a busy machine. */
const MAX_START_MS = 60_000;

export class Runner {
  #process: ChildProcess | undefined;
  #log = '';

  private constructor(
    readonly folder: string,
    readonly port: number,
    readonly variables: Record<string, string>,
  ) {}

  /** Starts one. `variables` are added to its environment. */
  static async start(variables: Record<string, string> = {}, port?: number): Promise<Runner> {
    const folder = await mkdtemp(join(tmpdir(), 'millrace-console-'));
    const runner = new Runner(folder, port ?? (await Runner.freePort()), variables);
    await runner.up();
    return runner;
  }

  /** Returns a port that is free now. */
  static freePort(): Promise<number> {
    return new Promise((resolve, reject) => {
      const server = createServer();
      server.once('error', reject);
      server.listen(0, '127.0.0.1', () => {
        const address = server.address();
        server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
      });
    });
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Starts the process, and returns when it answers. */
  async up(): Promise<void> {
    const child = spawn(join(programs, 'millrace'), ['--port', String(this.port), '--data-dir', join(this.folder, 'data')], {
      env: {
        ...programEnvironment(),
        MILLRACE_CONSOLE_DIR: consoleFolder,
        ...this.variables,
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#process = child;
    child.stderr?.on('data', (text: Buffer) => (this.#log = `${this.#log}${text}`.slice(-20_000)));
    const deadline = Date.now() + MAX_START_MS;
    for (;;) {
      const answers = await fetch(`${this.origin}/openapi.json`, { method: 'HEAD' }).then(
        (response) => response.ok,
        () => false,
      );
      if (answers) return;
      if (child.exitCode !== null || Date.now() > deadline) throw new Error(`The runner does not start:\n${this.#log}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  /** Ends the process at once, as `kill -9` does. */
  async kill(): Promise<void> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  }

  async remove(): Promise<void> {
    await this.kill();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Runs the operator command, and returns what it prints. */
  async ops(...args: string[]): Promise<string> {
    const { stdout } = await run(join(programs, 'ops'), args, {
      cwd: this.folder,
      env: {
        ...programEnvironment(),
        DATA_DIR: join(this.folder, 'data'),
      },
      maxBuffer: 64 * 1_024 * 1_024,
    });
    return stdout.trim();
  }

  /** Returns an access token; the developer's without arguments. */
  token(...args: string[]): Promise<string> {
    return this.ops('token', ...args);
  }
}

/** What programs need of the environment to start. */
export function programEnvironment(): Record<string, string> {
  const names = ['PATH', 'LD_LIBRARY_PATH', 'DYLD_FALLBACK_LIBRARY_PATH'];
  return Object.fromEntries(names.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])));
}

function required(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '') throw new Error(`${name} is not set: use \`make test-console\`, which sets it.`);
  return value;
}
