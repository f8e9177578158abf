import type { JsonObject } from '@toolrack/contract'
import { answerQuestions } from './answer-questions.ts'
import { compileSchema } from './compile-schema.ts'

// A separate program. A question is the text of a schema. The meta-schema is compiled before the first question. Its compilation
// takes longer than that of most schemas, and must not count against the deadline of the first one.
compileSchema({})
answerQuestions((text: string) => compileSchema(JSON.parse(text) as JsonObject))
