"""Verifies a delivery with libraries of other people: stripe's verifier for the contract's signature, and standardwebhooks.

Reads {secret, headers, body} from stdin. Prints what each of them says of it as it is, and of it with a changed byte, id and time.
"""

import json
import sys

import standardwebhooks
import stripe

TOLERANCE_SECONDS = 900


def by_stripe(secret, headers, body):
    time, signature = headers["x-service-timestamp"], headers["x-service-signature"]
    delivery_id = headers["x-service-delivery-id"]
    stripe.WebhookSignature.verify_header(f"{delivery_id}.{body}", f"t={time},{signature}", secret, TOLERANCE_SECONDS)


def by_standard_webhooks(secret, headers, body):
    standardwebhooks.Webhook(secret).verify(body, headers)


def accepts(verify, secret, headers, body):
    try:
        verify(secret, headers, body)
        return True
    except (stripe.SignatureVerificationError, standardwebhooks.WebhookVerificationError):
        return False


def changed(headers, name, value):
    return {**headers, name: value}


def later(headers, name, seconds):
    return changed(headers, name, str(int(headers[name]) + seconds))


def main():
    given = json.load(sys.stdin)
    secret, headers, body = given["secret"], given["headers"], given["body"]
    other = body[:-1] + " "
    print(json.dumps({
        "stripe": accepts(by_stripe, secret, headers, body),
        "stripe, another byte": accepts(by_stripe, secret, headers, other),
        "stripe, another id": accepts(by_stripe, secret, changed(headers, "x-service-delivery-id", "x"), body),
        "stripe, another time": accepts(by_stripe, secret, later(headers, "x-service-timestamp", 1), body),
        "stripe, too old": accepts(by_stripe, secret, later(headers, "x-service-timestamp", -1000), body),
        "stripe, another secret": accepts(by_stripe, secret + "x", headers, body),
        "standard": accepts(by_standard_webhooks, secret, headers, body),
        "standard, another byte": accepts(by_standard_webhooks, secret, headers, other),
        "standard, another id": accepts(by_standard_webhooks, secret, changed(headers, "webhook-id", "x"), body),
        "standard, another time": accepts(by_standard_webhooks, secret, later(headers, "webhook-timestamp", 1), body),
        "standard, too old": accepts(by_standard_webhooks, secret, later(headers, "webhook-timestamp", -1000), body),
    }))


main()
