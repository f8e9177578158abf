const RULES = 'packages/contract/src/rules/'
const SCOPES = 'packages/contract/src/scopes/'
const MATCHING = 'packages/contract/src/matching/'
const AUDIT = 'functions/src/calls/audit/'
const SEARCH = 'functions/src/tools/search/'

/** What is exported and takes no text of a stranger, or leaves it to a function above. A file, or `file name`. */
export const EXCEPTED: { readonly [exported: string]: string } = {
  [`${MATCHING}marked-ancestors.ts`]: 'takes numbers, and counts its steps; PartSearch adds them to its own',
  [`${RULES}always-denied.ts`]: 'stops after COMPARED_STEPS_MAX steps',
  [`${RULES}argument-text.ts globKind`]: 'takes a kind',
  [`${RULES}argument-text.ts isContentOfFolder`]: 'compares the end of a text with a constant',
  [`${RULES}argument-text.ts isDoubtful`]: 'takes one character',
  [`${RULES}argument-values.ts valuesOf`]: 'looks members of a schema up by their names',
  [`${RULES}decide-call.ts decideBy`]: 'compares the name of the tool by toolAnswers',
  [`${RULES}decide-call.ts undeclaredArguments`]: 'looks members of a schema up by their names',
  [`${RULES}glob.ts hasSingles`]: 'takes a kind',
  [`${RULES}rule-globs.ts holds`]: 'takes an answer',
  [`${RULES}tool-classes.ts`]: 'compares whole texts with constants',
  [`${SCOPES}format-scope.ts`]: 'joins the items of a parsed scope',
  [`${SCOPES}parse-scope.ts scopeFaultText`]: 'takes a fault, which has no text of a stranger',
  [`${AUDIT}audit-call.ts auditCall`]:
    'gives what it is told to AuditTrail, which redacts it by redactedEvent',
  [`${AUDIT}audit-call.ts auditStart`]:
    'gives what it is told to AuditTrail, which redacts it by redactedEvent',
  [`${AUDIT}audit-call.ts recordedRule`]: 'copies the owner of a rule',
  [`${AUDIT}audit-reported.ts`]: 'gives what it is told to AuditTrail, which redacts it by redactedEvent',
  [`${AUDIT}audit-store.ts placeOf`]: 'takes what the service has written',
  [`${AUDIT}audit-store.ts erasedPlace`]: 'takes what the service has written',
  [`${AUDIT}audit-store.ts markedText`]: 'replaces the first brace',
  [`${AUDIT}audit-store.ts pageOf`]: 'compares whole texts',
  [`${AUDIT}audit-trail.ts`]: 'redacts events by redactedEvent',
  [`${AUDIT}heads-of.ts`]: 'reads what the service has written',
  [`${AUDIT}manifest.ts`]: 'reads what the service has written, and the key of the operator',
  [`${AUDIT}number-ranges.ts`]: 'reads what the service has written',
  [`${AUDIT}record.ts`]: 'reads and writes records, whose texts were redacted before',
  [`${AUDIT}removal-texts.ts`]: 'reads what the service has written',
  [`${AUDIT}replaced-text.ts`]: 'cuts a text at numbers',
  [`${AUDIT}sensitive.ts`]: 'looks members of a schema up by their names; a schema has at most 32 KB',
  [`${AUDIT}tool-facts.ts`]: 'redacts arguments by recordedArguments',
  [`${AUDIT}verify-trail.ts`]: 'reads what the service has written',
  [`${AUDIT}yaml-lines.ts isBelowKey`]: 'compares numbers',
  'functions/src/calls/rules/authorise.ts': 'decides by decideCall',
  'functions/src/calls/rules/cached-rules.ts': 'keeps what was read',
  'functions/src/calls/rules/check-rules.ts refuseIdleRules': 'compares names by matchesGlob, in turns',
  'functions/src/calls/rules/kept-rules.ts': 'parses JSON, and compares whole texts',
  'functions/src/calls/rules/rule-book.ts': 'joins rules of owners by their keys',
  'functions/src/calls/rules/rule-writer.ts': 'compares whole texts',
  'functions/src/calls/rules/ruled-catalog.ts': 'asks RulesInForce',
  'functions/src/calls/rules/rules-in-force.ts': 'decides by decideCall and alwaysDenied',
  'functions/src/calls/rules/simulate.ts':
    'decides by decideCall; a name of a tool has at most 128 characters',
  'functions/src/tools/scopes/kept-scope.ts': 'parses JSON, and the text of a scope by parseScope',
  'functions/src/tools/scopes/scope-filter.ts': 'compares names by itemsNaming',
  'functions/src/tools/scopes/stored-scopes.ts': 'joins the keys of owners',
  [`${SEARCH}layer-index.ts`]: 'reads definitions by indexedTool, in turns',
  [`${SEARCH}ranked-entries.ts`]: 'reads a query by readQuery',
  [`${SEARCH}tool-finder.ts`]: 'reads a query by readQuery, and compares names by nearMiss',
  [`${SEARCH}tool-search.ts`]: 'reads a query by readQuery',
}
