/** The form of a subscription as texts, and the body that is sent. */

import type { Schemas } from '../../../api/client';
import { isObject, parseJson, pretty } from '../../../parts/json';

export type Body = Schemas['CreateSubscription'];
export type Subscription = Schemas['Subscription'];

export interface Header {
  name: string;
  value: string;
}

export interface Draft {
  name: string;
  description: string;
  enabled: boolean;
  priority: Schemas['Priority'];
  run_as_role: Schemas['RunAsRole'];
  overrides_system_subscription_id: string;
  event_category: string[];
  exclude_event_category: string[];
  action: string[];
  resource_type: string[];
  /** JSON, or nothing. */
  condition: string;
  semantic: boolean;
  instruction: string;
  mode: Schemas['SemanticMode'];
  on_error: Schemas['OnError'];
  evaluator: Schemas['EvaluatorKind'];
  enrich_with_content: boolean;
  evaluator_ref: string;
  type: Schemas['Target']['type'];
  url: string;
  signing_mode: Schemas['SigningMode'];
  payload_mode: Schemas['PayloadMode'];
  timeout_ms: string;
  headers: Header[];
  endpoint: string;
  workflow_class: string;
  workflow_id: string;
  vars: string;
  interaction_ref: string;
  agent_data: string;
  max_iterations: string;
  process: 'stored' | 'inline';
  process_ref: string;
  definition: string;
  run_type: Schemas['RunType'];
  process_data: string;
}

/** Names that a webhook may set. */
export const HEADERS = ['accept', 'content-type', 'user-agent', 'x-request-id', 'x-correlation-id', 'x-service-correlation-id'];

export const LABELS: Partial<Record<keyof Draft, string>> = {
  name: 'Name',
  description: 'Description',
  enabled: 'Enabled',
  priority: 'Priority',
  run_as_role: 'Role',
  event_category: 'Categories',
  exclude_event_category: 'Excluded categories',
  action: 'Actions',
  resource_type: 'Resource types',
  condition: 'Condition',
  semantic: 'Condition in words',
  instruction: 'Instruction',
  type: 'Kind of the target',
  url: 'URL',
  signing_mode: 'Signature',
  timeout_ms: 'Time limit',
  headers: 'Headers',
  endpoint: 'Workflow type',
  vars: 'Values',
};

export const EMPTY: Draft = {
  name: '',
  description: '',
  enabled: true,
  priority: 'normal',
  run_as_role: 'reader',
  overrides_system_subscription_id: '',
  event_category: [],
  exclude_event_category: [],
  action: [],
  resource_type: [],
  condition: '',
  semantic: false,
  instruction: '',
  mode: 'enforce',
  on_error: 'fail_closed',
  evaluator: 'interaction',
  enrich_with_content: false,
  evaluator_ref: '',
  type: 'webhook',
  url: '',
  signing_mode: 'signed',
  payload_mode: 'event_envelope',
  timeout_ms: '',
  headers: [],
  endpoint: '',
  workflow_class: '',
  workflow_id: '',
  vars: '',
  interaction_ref: '',
  agent_data: '',
  max_iterations: '',
  process: 'stored',
  process_ref: '',
  definition: '',
  run_type: 'programmatic',
  process_data: '',
};

const json = (value: unknown): string => (value === undefined || value === null ? '' : pretty(value));

export function draftOf(subscription: Subscription): Draft {
  const { filter, target } = subscription;
  const semantic = filter.semantic_condition;
  return {
    ...structuredClone(EMPTY),
    name: subscription.name,
    description: subscription.description ?? '',
    enabled: subscription.enabled,
    priority: subscription.priority,
    run_as_role: subscription.run_as_role,
    overrides_system_subscription_id: subscription.overrides_system_subscription_id ?? '',
    event_category: filter.event_category ?? [],
    exclude_event_category: filter.exclude_event_category ?? [],
    action: filter.action ?? [],
    resource_type: filter.resource_type ?? [],
    condition: json(filter.condition),
    ...(semantic && {
      semantic: true,
      instruction: semantic.instruction,
      mode: semantic.mode,
      on_error: semantic.on_error,
      evaluator: semantic.evaluator?.type ?? 'interaction',
      enrich_with_content: semantic.evaluator?.enrich_with_content ?? false,
      evaluator_ref: semantic.evaluator?.interaction_ref ?? '',
    }),
    ...targetDraft(target),
  };
}

function targetDraft(target: Schemas['SubscriptionTarget']): Partial<Draft> {
  const text = (value: string | number | null | undefined) => String(value ?? '');
  switch (target.type) {
    case 'webhook':
      return {
        type: 'webhook',
        url: target.url,
        signing_mode: target.signing_mode ?? 'legacy_unsigned',
        payload_mode: target.payload_mode,
        timeout_ms: text(target.timeout_ms),
        headers: Object.entries(target.headers ?? {}).map(([name, value]) => ({ name, value })),
      };
    case 'workflow':
      return {
        type: 'workflow',
        endpoint: target.endpoint,
        workflow_class: text(target.workflow_class),
        workflow_id: text(target.workflow_id),
        vars: json(target.vars),
      };
    case 'agent':
      return {
        type: 'agent',
        interaction_ref: text(target.interaction_ref),
        agent_data: json(target.data),
        max_iterations: text(target.max_iterations),
      };
    case 'process':
      return {
        type: 'process',
        process: target.process_ref ? 'stored' : 'inline',
        process_ref: text(target.process_ref),
        definition: json(target.definition),
        run_type: target.run_type,
        process_data: json(target.data),
      };
  }
}

/** What the form cannot send, by the label of the field. */
export type Faults = string[];

class Reader {
  readonly faults: Faults = [];

  object(label: string, text: string): Record<string, unknown> | undefined {
    if (text.trim() === '') return undefined;
    const { value, fault } = parseJson(text);
    if (fault !== undefined) this.faults.push(`${label} is not valid JSON. ${fault.message}`);
    else if (isObject(value)) return value;
    else this.faults.push(`${label} is not an object.`);
    return undefined;
  }

  number(label: string, text: string): number | undefined {
    if (text.trim() === '') return undefined;
    if (/^\d{1,9}$/.test(text.trim())) return Number(text);
    this.faults.push(`${label} is not a whole number.`);
    return undefined;
  }
}

export interface Read {
  body: Body;
  faults: Faults;
}

export function bodyOf(draft: Draft): Read {
  const reader = new Reader();
  const overrides = draft.overrides_system_subscription_id.trim();
  const body: Body = {
    name: draft.name,
    ...(draft.description !== '' && { description: draft.description }),
    enabled: draft.enabled,
    priority: draft.priority,
    run_as_role: draft.run_as_role,
    scope: 'project',
    ...(overrides !== '' && { overrides_system_subscription_id: overrides }),
    filter: readFilter(draft, reader),
    target: readTarget(draft, reader),
  };
  return { body, faults: reader.faults };
}

/** The filter as it stands in the form. */
export function filterOf(draft: Draft): { filter: Schemas['Filter']; faults: Faults } {
  const reader = new Reader();
  const filter = readFilter(draft, reader);
  return { filter, faults: reader.faults };
}

function readFilter(draft: Draft, reader: Reader): Schemas['Filter'] {
  const filter: Schemas['Filter'] = {};
  for (const name of ['event_category', 'exclude_event_category', 'action', 'resource_type'] as const) {
    if (draft[name].length > 0) filter[name] = [...draft[name]];
  }
  const condition = reader.object('The condition', draft.condition);
  if (condition !== undefined) filter.condition = condition;
  if (draft.semantic) {
    filter.semantic_condition = {
      instruction: draft.instruction,
      mode: draft.mode,
      on_error: draft.on_error,
      evaluator: {
        type: draft.evaluator,
        enrich_with_content: draft.enrich_with_content,
        ...(draft.evaluator_ref.trim() !== '' && { interaction_ref: draft.evaluator_ref.trim() }),
      },
    };
  }
  return filter;
}

function readTarget(draft: Draft, reader: Reader): Schemas['Target'] {
  /** Leaves out what is not set. */
  const optional = <T>(name: string, value: T | undefined) => (value === undefined || value === '' ? {} : { [name]: value });
  switch (draft.type) {
    case 'webhook': {
      const headers = draft.headers.filter(({ name }) => name !== '');
      return {
        type: 'webhook',
        url: draft.url.trim(),
        signing_mode: draft.signing_mode,
        payload_mode: draft.payload_mode,
        ...optional('timeout_ms', reader.number('The time limit', draft.timeout_ms)),
        ...(headers.length > 0 && { headers: Object.fromEntries(headers.map(({ name, value }) => [name, value])) }),
      };
    }
    case 'workflow':
      return {
        type: 'workflow',
        endpoint: draft.endpoint.trim(),
        ...optional('workflow_class', draft.workflow_class),
        ...optional('workflow_id', draft.workflow_id.trim()),
        ...optional('vars', reader.object('The field Values', draft.vars)),
      };
    case 'agent':
      return {
        type: 'agent',
        ...optional('interaction_ref', draft.interaction_ref.trim()),
        ...optional('data', reader.object('The field Data', draft.agent_data)),
        ...optional('max_iterations', reader.number('The field Most turns', draft.max_iterations)),
      };
    case 'process':
      return {
        type: 'process',
        ...(draft.process === 'stored'
          ? { process_ref: draft.process_ref.trim() }
          : optional('definition', reader.object('The definition', draft.definition))),
        run_type: draft.run_type,
        ...optional('data', reader.object('The field Data', draft.process_data)),
      };
  }
}
