import type { HostParts } from './host-parts.ts'
import { agents } from './agents/feature.ts'
import { approvals } from './approvals/feature.ts'
import { artifacts } from './artifacts/feature.ts'
import { audit } from './audit/feature.ts'
import { calling } from './calling/feature.ts'
import { changes } from './changes/feature.ts'
import { circuits } from './circuits/feature.ts'
import { definitions } from './definitions/feature.ts'
import { failures } from './failures/feature.ts'
import { Features } from './feature.ts'
import { folder } from './folder/feature.ts'
import { consents, grants } from './grants/feature.ts'
import { health } from './health/feature.ts'
import { invocations } from './invocations/feature.ts'
import { jobTokens } from './job-tokens/feature.ts'
import { limits } from './limits/feature.ts'
import { list } from './list/feature.ts'
import { metrics } from './metrics/feature.ts'
import { modules } from './modules/feature.ts'
import { once } from './once/feature.ts'
import { rules } from './rules/feature.ts'
import { schemas } from './schemas/feature.ts'
import { scopes } from './scopes/feature.ts'
import { secrets } from './secrets/feature.ts'
import { sessions } from './sessions/feature.ts'
import { statistics } from './statistics/feature.ts'
import { usage } from './usage/feature.ts'
import { wrap } from './wrap/feature.ts'

/** All features, in their order. A feature may use the parts of the features above it. */
export const FEATURES = Features.of<HostParts>()
  .add(schemas)
  .add(consents)
  .add(folder)
  .add(definitions)
  .add(modules)
  .add(grants)
  .add(agents)
  .add(rules)
  .add(sessions)
  .add(scopes)
  .add(secrets)
  .add(statistics)
  .add(usage)
  .add(circuits)
  .add(audit)
  .add(approvals)
  .add(once)
  .add(limits)
  .add(failures)
  .add(artifacts)
  .add(calling)
  .add(changes)
  .add(list)
  .add(wrap)
  .add(invocations)
  .add(jobTokens)
  .add(health)
  .add(metrics)
