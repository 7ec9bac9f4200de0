/** Events to try a filter with; each is a whole envelope. */

import type { Envelope } from '../deliveries/envelope';

export type Template = 'external' | 'content' | 'workflow';

export function template(kind: Template, account: string, project: string | undefined): Envelope {
  const common = {
    event_id: '0197f3c2-8a41-7d0e-9b1c-000000000010',
    account_id: account,
    project_id: project ?? null,
    tenant_id: null,
    timestamp: new Date().toISOString(),
  };
  switch (kind) {
    case 'external': {
      const payload = { action: 'paid', resource_type: 'order', resource_id: 'A-100', order: { amount: 120 } };
      return {
        ...common, event_category: 'external', action: 'paid', resource_type: 'order', resource_id: 'A-100', source: 'external:shop',
        resource_data: {}, details: { payload }, meters: [],
      };
    }
    case 'content':
      return {
        ...common, event_category: 'content', action: 'document_processed', resource_type: 'content_object', resource_id: 'invoice-7',
        source: 'documents', resource_data: { metadata: { type: 'invoice' } },
        details: { schema_version: 1, pipeline: 'invoices', page_count: 3, confidence: 0.94, verdict: 'needs_review' },
        meters: [{ category: 'processing', type: 'pages', quantity: 3 }],
      };
    case 'workflow':
      return {
        ...common, event_category: 'workflow', action: 'workflow_failed', resource_type: 'workflow_run', resource_id: '0197f3c2-8a41-7d0e-9b1c-000000000211',
        source: 'workflow', resource_data: {},
        details: { workflow_type: 'Approval', workflow_id: 'order-1011', workflow_run_id: '0197f3c2-8a41-7d0e-9b1c-000000000211', status: 'FAILED', duration_ms: 1_200, initiated_by: 'user:ops' },
        meters: [],
      };
  }
}
