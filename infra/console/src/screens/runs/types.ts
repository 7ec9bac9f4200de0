/** The workflow types of the installation, read once when something first asks. */

import { answer, client, type Schemas } from '../../api/client';

let loaded: Promise<readonly Schemas['WorkflowType'][]> | undefined;

/** Without the types only completion and suggestions are missing, so that a failure gives none. */
export function workflowTypes(): Promise<readonly Schemas['WorkflowType'][]> {
  loaded ??= answer(client.GET('/api/v1/workflows/types'))
    .then((page) => page.types)
    .catch(() => {
      loaded = undefined;
      return [];
    });
  return loaded;
}
