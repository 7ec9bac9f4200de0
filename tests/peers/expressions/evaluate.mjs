// Evaluates expressions with the reference, jq: of each line of a file, an input, a tab and an expression, all results or none where
// jq has an error.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import process from 'node:process';

const [modules, file] = process.argv.slice(2);
const { raw } = createRequire(`${modules}/`)('jq-wasm');
const lines = readFileSync(file, 'utf8').split('\n').filter((line) => line !== '');
for (const line of lines) {
  const [input, expression] = line.split('\t', 2);
  const { stdout, stderr, exitCode } = await raw(input, `[${expression}]`, ['-c']);
  // A number that no double holds comes back as it was written.
  const text = stdout.replace(/-?1E\+1000/g, '"$&"');
  process.stdout.write(`${JSON.stringify(stderr || exitCode || !text ? { right: null } : { right: JSON.parse(text) })}\n`);
}
