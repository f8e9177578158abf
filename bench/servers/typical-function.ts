import express from 'express'
import { initializeApp } from 'firebase-admin/app'
import { getFirestore } from 'firebase-admin/firestore'
import { https } from 'firebase-functions'
import { z } from 'zod'

/** The usual function. It imports all its packages at the start, reads Firestore for each list, and checks no token. */
const listQuery = z.object({ category: z.string().optional() })

initializeApp()
const firestore = getFirestore()

const app = express()
app.get('/workflows/tools/list', async (req, res) => {
  const { category } = listQuery.parse(req.query)
  const tools = firestore.collection('catalog')
  const found = await (category === undefined ? tools : tools.where('category', '==', category)).get()
  res.json(found.docs.map((tool) => tool.data()))
})

export const typical = https.onRequest(app)
