import { answerQuestions } from './answer-questions.ts'
import { validateArguments } from './validate-arguments.ts'

// A separate program. A question is a definition and the arguments to check against it.
answerQuestions(validateArguments)
