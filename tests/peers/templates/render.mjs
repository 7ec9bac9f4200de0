// Renders cases with the reference, handlebars.js: of each, whether it is a template and the text, or that there is none. Prompts are
// no HTML, so nothing is escaped. The option `noEscape` is not taken, because it adds numbers that stand side by side.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import process from 'node:process';

const [modules, file] = process.argv.slice(2);
const Handlebars = createRequire(`${modules}/`)('handlebars');
Handlebars.Utils.escapeExpression = (value) => (value == null ? '' : String(value));
// Standard output is the answer's: neither the helper `log` nor a warning belongs there.
for (const level of ['debug', 'info', 'log', 'warn', 'error']) console[level] = () => {};

const tried = (run) => {
  try { return run(); } catch { return null; }
};
const answers = JSON.parse(readFileSync(file, 'utf8')).map(({ template, data }) => ({
  is_template: tried(() => Handlebars.precompile(template)) !== null,
  text: tried(() => Handlebars.compile(template)(data)),
}));
process.stdout.write(JSON.stringify(answers));
