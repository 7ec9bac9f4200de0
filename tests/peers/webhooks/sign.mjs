// Signs requests with the libraries of their senders. Reads [{ preset, secret, url, body }], and writes the headers of each.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import process from 'node:process';

const require = createRequire(`${process.argv[2]}/`);
const now = () => new Date();

/** Standard Webhooks with these names of headers. */
const standard = (library, prefix) => ({ secret, body }) => {
  const { Webhook } = require(library);
  const [id, time] = ['msg_live_1', now()];
  return {
    [`${prefix}-id`]: id,
    [`${prefix}-timestamp`]: String(Math.floor(time / 1000)),
    [`${prefix}-signature`]: new Webhook(secret).sign(id, time, body),
  };
};

const signers = {
  github: async ({ secret, body }) => {
    // It has no entry for `require`.
    const { sign } = await import(`${process.argv[2]}/@octokit/webhooks-methods/dist-node/index.js`);
    return { 'x-hub-signature-256': await sign(secret, body), 'x-github-event': 'issues', 'x-github-delivery': 'live-1' };
  },
  stripe: ({ secret, body }) => {
    const library = require('stripe');
    const Stripe = library.default ?? library;
    return { 'stripe-signature': new Stripe('sk_test').webhooks.generateTestHeaderString({ payload: body, secret }) };
  },
  twilio: ({ secret, url, body }) => ({
    'content-type': 'application/x-www-form-urlencoded',
    'x-twilio-signature': require('twilio').getExpectedTwilioSignature(secret, url, Object.fromEntries(new URLSearchParams(body))),
    'i-twilio-idempotency-token': 'live-1',
  }),
  svix: standard('svix', 'svix'),
  standard_webhooks: standard('standardwebhooks', 'webhook'),
};

const answers = [];
for (const request of JSON.parse(readFileSync(0, 'utf8'))) {
  answers.push({ 'content-type': 'application/json', ...(await signers[request.preset](request)) });
}
process.stdout.write(JSON.stringify(answers));
