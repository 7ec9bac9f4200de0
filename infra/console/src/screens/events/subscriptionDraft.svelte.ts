/** A subscription under edit. Lists and JSON are texts, so that half-written ones are kept. */

import type { Schemas } from '../../api/client';

export type TargetKind = 'webhook' | 'workflow' | 'agent' | 'process';
type Json = Record<string, unknown>;

export class SubscriptionDraft {
  name = $state('');
  description = $state('');
  enabled = $state(true);
  priority = $state<Schemas['Priority']>('normal');
  role = $state<Schemas['RunAsRole']>('reader');
  categories = $state('external');
  excluded = $state('');
  actions = $state('');
  resourceTypes = $state('');
  condition = $state('');
  instruction = $state('');
  mode = $state<Schemas['SemanticMode']>('enforce');
  onError = $state<Schemas['OnError']>('fail_closed');
  evaluator = $state<Schemas['EvaluatorKind']>('interaction');
  enrich = $state(false);
  evaluatorRef = $state('');
  kind = $state<TargetKind>('webhook');
  url = $state('');
  signed = $state(true);
  timeout = $state('');
  headers = $state('');
  endpoint = $state('');
  workflowClass = $state('');
  interaction = $state('');
  iterations = $state('');
  process = $state('');
  definition = $state('');
  supervised = $state(false);
  /** `vars` of a workflow, `data` of an agent or a process. */
  data = $state('');

  take(subscription: Schemas['Subscription']): void {
    const { filter, target } = subscription;
    this.name = subscription.name;
    this.description = subscription.description ?? '';
    this.enabled = subscription.enabled;
    this.priority = subscription.priority;
    this.role = subscription.run_as_role;
    this.categories = joined(filter.event_category);
    this.excluded = joined(filter.exclude_event_category);
    this.actions = joined(filter.action);
    this.resourceTypes = joined(filter.resource_type);
    this.condition = written(filter.condition);
    const semantic = filter.semantic_condition;
    this.instruction = semantic?.instruction ?? '';
    this.mode = semantic?.mode ?? 'enforce';
    this.onError = semantic?.on_error ?? 'fail_closed';
    this.evaluator = semantic?.evaluator?.type ?? 'interaction';
    this.enrich = semantic?.evaluator?.enrich_with_content ?? false;
    this.evaluatorRef = semantic?.evaluator?.interaction_ref ?? '';
    this.kind = target.type as TargetKind;
    if (target.type === 'webhook') {
      this.url = target.url;
      this.signed = target.signing_mode === 'signed';
      this.timeout = target.timeout_ms == null ? '' : String(target.timeout_ms);
      this.headers = written(target.headers);
    } else if (target.type === 'workflow') {
      this.endpoint = target.endpoint;
      this.workflowClass = target.workflow_class ?? '';
      this.data = written(target.vars);
    } else if (target.type === 'agent') {
      this.interaction = target.interaction_ref ?? '';
      this.iterations = target.max_iterations == null ? '' : String(target.max_iterations);
      this.data = written(target.data);
    } else {
      this.process = target.process_ref ?? '';
      this.definition = written(target.definition);
      this.supervised = target.run_type === 'supervised';
      this.data = written(target.data);
    }
  }

  /** Why the draft cannot be sent: a text that is not a JSON object. */
  readonly refusal: string | undefined = $derived.by(() => {
    const used: [string, string][] = [['condition', this.condition]];
    if (this.kind === 'webhook') used.push(['headers', this.headers]);
    else used.push([this.kind === 'workflow' ? 'variables' : 'data', this.data]);
    if (this.kind === 'process') used.push(['definition', this.definition]);
    for (const [name, text] of used) {
      const { error } = parsed(text);
      if (error !== undefined) return `The ${name} is no JSON object: ${error}`;
    }
    return this.name.trim() === '' ? 'The subscription needs a name.' : undefined;
  });

  readonly filter: Schemas['Filter'] = $derived({
    event_category: listed(this.categories),
    exclude_event_category: listed(this.excluded),
    action: listed(this.actions),
    resource_type: listed(this.resourceTypes),
    condition: (parsed(this.condition).value ?? null) as Schemas['Filter']['condition'],
    ...(this.instruction.trim() !== '' && {
      semantic_condition: {
        instruction: this.instruction,
        mode: this.mode,
        on_error: this.onError,
        evaluator: {
          type: this.evaluator,
          ...(this.evaluator === 'interaction' && { enrich_with_content: this.enrich }),
          ...(this.evaluatorRef.trim() !== '' && { interaction_ref: this.evaluatorRef.trim() }),
        },
      },
    }),
  });

  get target(): Json {
    const data = parsed(this.data).value;
    switch (this.kind) {
      case 'webhook':
        return {
          type: 'webhook',
          url: this.url.trim(),
          ...(this.signed && { signing_mode: 'signed' }),
          ...(this.timeout !== '' && { timeout_ms: Number(this.timeout) }),
          ...(this.headers.trim() !== '' && { headers: parsed(this.headers).value }),
        };
      case 'workflow':
        return {
          type: 'workflow',
          endpoint: this.endpoint.trim(),
          ...(this.workflowClass.trim() !== '' && { workflow_class: this.workflowClass.trim() }),
          ...(data && { vars: data }),
        };
      case 'agent':
        return {
          type: 'agent',
          ...(this.interaction.trim() !== '' && { interaction_ref: this.interaction.trim() }),
          ...(this.iterations !== '' && { max_iterations: Number(this.iterations) }),
          ...(data && { data }),
        };
      case 'process':
        return {
          type: 'process',
          ...(this.process.trim() !== '' && { process_ref: this.process.trim() }),
          ...(this.definition.trim() !== '' && { definition: parsed(this.definition).value }),
          ...(this.supervised && { run_type: 'supervised' }),
          ...(data && { data }),
        };
    }
  }

  get body(): Schemas['CreateSubscription'] {
    return {
      name: this.name,
      description: this.description.trim() === '' ? null : this.description,
      enabled: this.enabled,
      priority: this.priority,
      run_as_role: this.role,
      filter: this.filter,
      target: this.target as unknown as Schemas['Target'],
    };
  }
}

function joined(values: readonly string[] | undefined): string {
  return (values ?? []).join(', ');
}

function listed(text: string): never[] {
  const values = text.split(',').map((value) => value.trim());
  // The schema names the categories; the service refuses others.
  return values.filter(Boolean) as never[];
}

function written(value: unknown): string {
  return value === null || value === undefined ? '' : JSON.stringify(value, null, 2);
}

export function parsed(text: string): { value?: Json; error?: string } {
  if (text.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { value: value as Json };
    return { error: 'it must begin with {.' };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}
